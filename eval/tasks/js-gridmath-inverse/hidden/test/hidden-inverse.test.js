'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { Matrix } = require('..');

const a = Matrix.of([[0, 2, 1], [1, -2, -3], [-1, 1, 2]]);

test('inverse', () => {
  assert.ok(a.multiply(a.inverse()).equals(Matrix.identity(3)));
  assert.ok(a.inverse().multiply(a).equals(Matrix.identity(3)));
  assert.ok(Matrix.of([[4]]).inverse().equals(Matrix.of([[0.25]])));
  assert.deepStrictEqual(a.toLists(), [[0, 2, 1], [1, -2, -3], [-1, 1, 2]]);
});

test('none', () => {
  assert.throws(() => Matrix.of([[1, 2], [2, 4]]).inverse(), RangeError);
  assert.throws(() => Matrix.of([[1, 2]]).inverse(), RangeError);
});

test('power', () => {
  assert.ok(a.power(0).equals(Matrix.identity(3)));
  assert.ok(a.power(1).equals(a));
  assert.ok(a.power(5).equals(a.multiply(a).multiply(a).multiply(a).multiply(a)));
  assert.ok(a.power(-2).multiply(a).multiply(a).equals(Matrix.identity(3), 1e-6));
  assert.deepStrictEqual(Matrix.of([[1, 1], [1, 0]]).power(30).toLists()[0], [1346269, 832040]);
});

test('big exponents', () => {
  const start = process.hrtime.bigint();
  assert.ok(Matrix.of([[1, 1], [0, 1]]).power(1000000).equals(Matrix.of([[1, 1000000], [0, 1]])));
  assert.ok(process.hrtime.bigint() - start < 200000000n);
});

test('refused', () => {
  for (const n of [0.5, NaN, '2']) assert.throws(() => a.power(n), RangeError);
  assert.throws(() => Matrix.of([[1, 2]]).power(2), RangeError);
});
