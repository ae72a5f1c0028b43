'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { format, parse, toObjects } = require('..');

test('head, alignment and rows', () => {
  const text = 'Before.\n\n| name | size | |\n| :--- | ---: | --- |\n| bolt | 4 | x |\n| nut |\n\nAfter | all.\n';
  assert.deepStrictEqual(parse(text), {
    align: ['left', 'right', null],
    rows: [['name', 'size', ''], ['bolt', '4', 'x'], ['nut', '', '']],
  });
});

test('no table', () => {
  assert.strictEqual(parse('a | b\n\nc - d'), null);
  assert.strictEqual(parse(''), null);
});

test('reads what was written', () => {
  const rows = [['a|b', 'c'], ['x\ny', 'z']];
  assert.deepStrictEqual(parse(format(rows)).rows, rows);
});

test('objects', () => {
  assert.deepStrictEqual(toObjects({ rows: [['a', 'b'], ['1', '2']] }), [{ a: '1', b: '2' }]);
});
