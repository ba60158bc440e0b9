// The engine: WebAssembly that answers questions. After a trap it begins afresh.

const written = new TextEncoder();
const read = new TextDecoder();
let compiled;
let instance;

// The engine stands in the page itself, gzipped, so that the page works from a disk too.
export async function startEngine() {
  const packed = Uint8Array.from(atob(document.getElementById('engine').textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  compiled = await WebAssembly.compile(await new Response(stream).arrayBuffer());
  instance = await WebAssembly.instantiate(compiled);
}

export function ask(question) {
  const bytes = written.encode(JSON.stringify(question));
  try {
    const { memory, question: room, ask: run, answer } = instance.exports;
    const place = room(bytes.length);
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    const length = run();
    const reply = JSON.parse(read.decode(new Uint8Array(memory.buffer, answer(), length)));
    if (reply.error) throw new Error(reply.error);
    return reply;
  } catch (trap) {
    instance = new WebAssembly.Instance(compiled);
    throw trap;
  }
}
