'use strict';

// At most `length` characters, the last one an ellipsis where something was cut.
function truncate(text, length) {
  if (text.length <= length) return text;
  if (length < 1) return '';
  return text.slice(0, length - 1).trimEnd() + '\u2026';
}

// Each run of white space becomes one blank.
function collapse(text) {
  return text.trim().replace(/\s+/g, ' ');
}

module.exports = { truncate, collapse };
