'use strict';

// "HTTP server-name" -> ["http", "server", "name"]
function pieces(text) {
  return text
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((piece) => piece.toLowerCase());
}

function camel(text) {
  return pieces(text)
    .map((piece, index) => (index === 0 ? piece : piece[0].toUpperCase() + piece.slice(1)))
    .join('');
}

function kebab(text) {
  return pieces(text).join('-');
}

function snake(text) {
  return pieces(text).join('_');
}

module.exports = { camel, kebab, snake };
