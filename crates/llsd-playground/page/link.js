// The state of the page in its address: compressed, behind the `#`, which browsers send to nobody.

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
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
