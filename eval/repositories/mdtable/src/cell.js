'use strict';

// What stands in a cell, as Markdown.
function escapeCell(value) {
  if (value === null || value === undefined) return '';
  return String(value).replace(/\|/g, '\\|').replace(/\r?\n/g, '<br>');
}

function unescapeCell(text) {
  return text.trim().replace(/\\\|/g, '|').replace(/<br>/g, '\n');
}

module.exports = { escapeCell, unescapeCell };
