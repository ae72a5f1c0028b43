'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { Matrix } = require('..');

const row = Matrix.of([[1, 2]]);
const column = Matrix.of([[1], [2]]);
const a = Matrix.of([[1, 2], [3, 4]]);

test('sameSize', () => {
  assert.strictEqual(row.sameSize(Matrix.of([[3, 4]])), true);
  assert.strictEqual(row.sameSize(column), false);
  assert.strictEqual(row.sameSize(Matrix.of([[1, 2, 3]])), false);
  assert.strictEqual(row.sameSize(a), false);
  assert.strictEqual(a.sameSize(Matrix.identity(2)), true);
});

test('equals and add use it', () => {
  const real = Matrix.prototype.sameSize;
  let calls = 0;
  Matrix.prototype.sameSize = function counted(other) {
    calls += 1;
    return real.call(this, other);
  };
  try {
    a.equals(a);
    assert.strictEqual(calls, 1);
    a.add(a);
    assert.strictEqual(calls, 2);
  } finally {
    Matrix.prototype.sameSize = real;
  }
});

test('the same results', () => {
  assert.strictEqual(a.equals(Matrix.of([[1, 2], [3, 4]])), true);
  assert.strictEqual(a.equals(Matrix.of([[1, 2], [3, 5]])), false);
  assert.strictEqual(a.equals(Matrix.of([[1, 2], [3, 5]]), 1), true);
  assert.strictEqual(row.equals(column), false);
  assert.deepStrictEqual(a.add(a).toLists(), [[2, 4], [6, 8]]);
  assert.throws(() => row.add(column), { name: 'RangeError', message: 'matrices of different sizes' });
});
