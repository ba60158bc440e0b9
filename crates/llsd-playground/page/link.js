// The state of the page in its address: compressed, behind the `#`, which browsers send to nobody.

// A link is somebody else's: what it unpacks to is bounded.
const LONGEST = 1 << 20;

async function through(stream, bytes) {
  const parts = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    length += part.value.length;
    if (length > LONGEST) throw new RangeError('longer than a state of ours');
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

export async function toFragment(state) {
  const bytes = await through(new CompressionStream('deflate-raw'), new TextEncoder().encode(JSON.stringify(state)));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return `#1${btoa(letters).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

// Nothing where the address holds no state of ours.
export async function fromFragment(fragment) {
  if (!fragment.startsWith('#1')) return undefined;
  try {
    const letters = atob(fragment.slice(2).replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = await through(new DecompressionStream('deflate-raw'), Uint8Array.from(letters, (c) => c.charCodeAt(0)));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return typeof state.text === 'string' ? state : undefined;
  } catch {
    return undefined;
  }
}
