'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { Matrix, solve } = require('..');

function byHand(lists) {
  if (lists.length === 1) return lists[0][0];
  return lists[0].reduce((sum, value, at) => sum + (at % 2 ? -1 : 1) * value * byHand(lists.slice(1).map((list) => list.filter((_, i) => i !== at))), 0);
}

test('against expansion by the first row', () => {
  let seed = 7;
  const random = () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return (seed % 19) - 9;
  };
  for (let size = 1; size <= 5; size += 1) {
    for (let round = 0; round < 40; round += 1) {
      const lists = Array.from({ length: size }, () => Array.from({ length: size }, random));
      const got = Matrix.of(lists).determinant();
      assert.ok(Math.abs(got - byHand(lists)) < 1e-6, JSON.stringify(lists));
    }
  }
});

test('permutations', () => {
  assert.strictEqual(Matrix.of([[0, 1], [1, 0]]).determinant(), -1);
  assert.strictEqual(Matrix.of([[0, 1, 0], [0, 0, 1], [1, 0, 0]]).determinant(), 1);
});

test('solving still works', () => {
  assert.ok(solve(Matrix.of([[0, 2], [4, 0]]), Matrix.of([[2], [4]])).equals(Matrix.of([[1], [1]])));
});
