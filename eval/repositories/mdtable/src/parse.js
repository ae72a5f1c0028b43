'use strict';

const { unescapeCell } = require('./cell');

// The cells of a line; a bar after a backslash doesn't end one.
function split(line) {
  let text = line.trim();
  if (text.startsWith('|')) text = text.slice(1);
  if (/(^|[^\\])\|$/.test(text)) text = text.slice(0, -1);
  return text.split(/(?<!\\)\|/).map(unescapeCell);
}

function alignment(cell) {
  if (!/^:?-+:?$/.test(cell)) return undefined;
  if (cell.startsWith(':')) return cell.endsWith(':') && cell.length > 1 ? 'center' : 'left';
  return cell.endsWith(':') ? 'right' : null;
}

// The first table of a text; null if there is none.
function parse(text) {
  const lines = text.split(/\r?\n/);
  for (let at = 1; at < lines.length; at += 1) {
    if (!lines[at].includes('-') || !lines[at - 1].includes('|')) continue;
    const head = split(lines[at - 1]);
    const align = split(lines[at]).map(alignment);
    if (align.includes(undefined) || align.length !== head.length) continue;
    const rows = [head];
    for (const line of lines.slice(at + 1)) {
      if (!line.includes('|')) break;
      const cells = split(line);
      rows.push(head.map((_, index) => cells[index] ?? ''));
    }
    return { align, rows };
  }
  return null;
}

module.exports = { parse };
