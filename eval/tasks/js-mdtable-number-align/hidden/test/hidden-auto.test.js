'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { format, parse } = require('..');

const aligned = (rows, align) => parse(format(rows, { align })).align;

test('numbers to the right', () => {
  assert.strictEqual(
    format([['name', 'size'], ['bolt', 4], ['nut', 12]], { align: 'auto' }),
    '| name | size |\n| ---- | ---: |\n| bolt |    4 |\n| nut  |   12 |\n',
  );
});

test('what a number is', () => {
  for (const cell of [0, -1.5, '12', '-3.5', '1,200', '40%']) {
    assert.deepStrictEqual(aligned([['h'], [cell]], 'auto'), ['right'], String(cell));
  }
  for (const cell of ['a', '12a', '1-2', '-', '', null, '2024-01-01', '%']) {
    assert.deepStrictEqual(aligned([['h'], [cell]], 'auto'), [null], String(cell));
  }
});

test('empty cells don\'t count, one word does', () => {
  assert.deepStrictEqual(aligned([['a', 'b'], [1, 2], [null, 'x'], ['', 3]], 'auto'), ['right', null]);
  assert.deepStrictEqual(aligned([['1', '2']], 'auto'), [null, null]);
});

test('for one column', () => {
  assert.deepStrictEqual(aligned([['a', 'b', 'c'], [1, 2, 3]], ['left', 'auto']), ['left', 'right', null]);
});
