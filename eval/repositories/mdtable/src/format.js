'use strict';

const { escapeCell } = require('./cell');
const { width } = require('./width');

const LEAST = 3;

function format(rows, { align = [] } = {}) {
  if (!rows.length) return '';
  const columns = Math.max(...rows.map((row) => row.length));
  const cells = rows.map((row) => Array.from({ length: columns }, (_, index) => escapeCell(row[index])));
  const widths = Array.from({ length: columns }, (_, index) => Math.max(LEAST, ...cells.map((row) => width(row[index]))));
  const lines = cells.map((row) => {
    const padded = row.map((cell, index) => {
      const missing = widths[index] - width(cell);
      if (align[index] === 'right') return ' '.repeat(missing) + cell;
      if (align[index] === 'center') {
        const left = Math.floor(missing / 2);
        return ' '.repeat(left) + cell + ' '.repeat(missing - left);
      }
      return cell + ' '.repeat(missing);
    });
    return `| ${padded.join(' | ')} |`;
  });
  const rule = widths.map((count, index) => {
    if (align[index] === 'right') return '-'.repeat(count - 1) + ':';
    if (align[index] === 'center') return ':' + '-'.repeat(count - 2) + ':';
    if (align[index] === 'left') return ':' + '-'.repeat(count - 1);
    return '-'.repeat(count);
  });
  lines.splice(1, 0, `| ${rule.join(' | ')} |`);
  return lines.join('\n') + '\n';
}

module.exports = { format };
