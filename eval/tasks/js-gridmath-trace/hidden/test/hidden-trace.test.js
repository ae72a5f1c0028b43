'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { Matrix } = require('..');

test('the sum of the diagonal', () => {
  assert.strictEqual(Matrix.of([[1, 2], [3, 4]]).trace(), 5);
  assert.strictEqual(Matrix.identity(3).trace(), 3);
  assert.strictEqual(Matrix.of([[7]]).trace(), 7);
  assert.strictEqual(Matrix.of([[1, 100, 100], [100, -20, 100], [100, 100, 4]]).trace(), -15);
  assert.strictEqual(Matrix.of([[0.5, 1], [1, 0.25]]).trace(), 0.75);
});

test('only square ones have it', () => {
  assert.throws(() => Matrix.of([[1, 2]]).trace(), RangeError);
  assert.throws(() => Matrix.of([[1], [2]]).trace(), RangeError);
  assert.throws(() => Matrix.of([[1, 2, 3], [4, 5, 6]]).trace(), RangeError);
});

test('the matrix stays as it is', () => {
  const matrix = Matrix.of([[1, 2], [3, 4]]);
  matrix.trace();
  assert.deepStrictEqual(matrix.toLists(), [[1, 2], [3, 4]]);
});
