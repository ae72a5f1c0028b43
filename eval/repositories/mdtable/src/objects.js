'use strict';

// Rows for `format` out of objects; the keys of the first one are the head.
function fromObjects(objects) {
  if (!objects.length) return [];
  const keys = Object.keys(objects[0]);
  return [keys, ...objects.map((object) => keys.map((key) => object[key]))];
}

// Objects out of what `parse` returns.
function toObjects({ rows }) {
  const [head, ...body] = rows;
  return body.map((row) => Object.fromEntries(head.map((key, index) => [key, row[index]])));
}

module.exports = { fromObjects, toObjects };
