'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { format, fromObjects } = require('..');

test('the given keys in their order', () => {
  assert.deepStrictEqual(fromObjects([{ a: 1, b: 2 }, { a: 3, b: 4 }], ['b']), [['b'], [2], [4]]);
  assert.deepStrictEqual(fromObjects([{ a: 1, b: 2 }], ['b', 'a']), [['b', 'a'], [2, 1]]);
});

test('keys that are missing', () => {
  assert.deepStrictEqual(fromObjects([{ a: 1 }], ['a', 'c']), [['a', 'c'], [1, undefined]]);
  assert.deepStrictEqual(fromObjects([{ a: 1 }, { c: 2 }], ['c']), [['c'], [undefined], [2]]);
});

test('no objects', () => {
  assert.deepStrictEqual(fromObjects([], ['a']), []);
  assert.deepStrictEqual(fromObjects([]), []);
});

test('without keys', () => {
  assert.deepStrictEqual(fromObjects([{ a: 1, b: 2 }, { b: 3, c: 4 }]), [['a', 'b'], [1, 2], [undefined, 3]]);
});

test('the list stays as it is, and the result can be written', () => {
  const keys = Object.freeze(['b', 'a']);
  const rows = fromObjects([{ a: 1, b: 2 }], keys);
  assert.strictEqual(format(rows), '| b   | a   |\n| --- | --- |\n| 2   | 1   |\n');
  assert.deepStrictEqual(keys, ['b', 'a']);
});
