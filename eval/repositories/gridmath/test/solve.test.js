'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { Matrix, solve } = require('..');

test('determinant', () => {
  assert.ok(Math.abs(Matrix.of([[1, 2], [3, 4]]).determinant() + 2) < 1e-9);
  assert.strictEqual(Matrix.of([[1, 2], [2, 4]]).determinant(), 0);
  assert.strictEqual(Matrix.identity(3).determinant(), 1);
});

test('solve', () => {
  const x = solve(Matrix.of([[0, 2, 1], [1, -2, -3], [-1, 1, 2]]), Matrix.of([[-8], [0], [3]]));
  assert.ok(x.equals(Matrix.of([[-4], [-5], [2]])));
  assert.throws(() => solve(Matrix.of([[1, 1], [1, 1]]), Matrix.of([[1], [2]])), RangeError);
});
