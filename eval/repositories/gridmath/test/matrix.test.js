'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { Matrix } = require('..');

const a = Matrix.of([[1, 2], [3, 4]]);

test('add, scale and transpose', () => {
  assert.deepStrictEqual(a.add(a).toLists(), [[2, 4], [6, 8]]);
  assert.deepStrictEqual(a.scale(-1).toLists(), [[-1, -2], [-3, -4]]);
  assert.deepStrictEqual(Matrix.of([[1, 2, 3]]).transpose().toLists(), [[1], [2], [3]]);
});

test('multiply', () => {
  assert.deepStrictEqual(a.multiply(Matrix.of([[1], [10]])).toLists(), [[21], [43]]);
  assert.ok(a.multiply(Matrix.identity(2)).equals(a));
});

test('sizes must fit', () => {
  const row = Matrix.of([[1, 2]]);
  for (const wrong of [() => a.add(row), () => row.multiply(row), () => Matrix.of([[1], [2, 3]]), () => a.get(2, 0), () => row.determinant()]) {
    assert.throws(wrong, RangeError);
  }
});
