// YAML with colours, as elements: never as markup, so that nothing in a text can become part of the page.

const LINE = /^(\s*(?:- )*)((?:[^\s#'"{[&*!|>%@`-][^:#]*|"[^"]*"|'[^']*'|-[^\s:#][^:#]*)(?=:(?:\s|$)))?(:)?(.*)$/;

export function span(text, name) {
  const element = document.createElement('span');
  element.textContent = text;
  if (name) element.className = name;
  return element;
}

// The pieces of a line: texts with the class that colours each.
export function pieces(line) {
  if (/^\s*#/.test(line)) return [[line, 'c']];
  const [, lead, key = '', colon = '', rest] = LINE.exec(line);
  const comment = /(^|\s)#.*$/.exec(rest);
  const value = comment ? rest.slice(0, comment.index) : rest;
  const plain = value.trim();
  let kind = 'v';
  if (/\$\{env\./.test(plain)) kind = 'e';
  else if (/^(['"]|[|>]|-?\d|(true|false|null|~)$)/.test(plain)) kind = 's';
  return [[lead, ''], [key, 'k'], [colon, 'p'], [value, kind], [comment ? comment[0] : '', 'c']].filter(([text]) => text);
}

export function coloured(line) {
  return pieces(line).map(([text, kind]) => span(text, kind));
}

// The same with parts of the line marked: [{from, to, kind}] in units of the line.
export function marked(line, marks) {
  if (marks.length === 0) return coloured(line);
  const parts = [];
  let at = 0;
  for (const [text, kind] of pieces(line)) {
    let start = 0;
    while (start < text.length) {
      const place = at + start;
      const mark = marks.find((one) => one.from <= place && place < one.to);
      const next = Math.min(...marks.flatMap((one) => [one.from, one.to]).filter((edge) => edge > place), at + text.length);
      const piece = span(text.slice(start, next - at), kind);
      if (mark) {
        const element = document.createElement('mark');
        element.className = mark.kind;
        element.append(piece);
        parts.push(element);
      } else {
        parts.push(piece);
      }
      start = next - at;
    }
    at += text.length;
  }
  const beyond = marks.find((one) => one.to > line.length);
  if (beyond) {
    const element = document.createElement('mark');
    element.className = beyond.kind;
    element.append(span(' '));
    parts.push(element);
  }
  return parts;
}
