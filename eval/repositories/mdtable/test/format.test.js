'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { format, fromObjects } = require('..');

test('columns are as wide as their widest cell', () => {
  assert.strictEqual(
    format([['name', 'size'], ['bolt', 4], ['nut', 12]], { align: ['left', 'right'] }),
    '| name | size |\n| :--- | ---: |\n| bolt |    4 |\n| nut  |   12 |\n',
  );
});

test('centred, and three columns at least', () => {
  assert.strictEqual(format([['a'], ['b']], { align: ['center'] }), '|  a  |\n| :-: |\n|  b  |\n');
});

test('bars, line breaks and nothing', () => {
  assert.strictEqual(format([['a|b', 'c'], ['x\ny']]), '| a\\|b   | c   |\n| ------ | --- |\n| x<br>y |     |\n');
  assert.strictEqual(format([]), '');
});

test('wide characters', () => {
  assert.strictEqual(format([['\u6f22\u5b57'], ['abc']]), '| \u6f22\u5b57 |\n| ---- |\n| abc  |\n');
});

test('objects', () => {
  assert.deepStrictEqual(fromObjects([{ a: 1, b: 2 }, { b: 3 }]), [['a', 'b'], [1, 2], [undefined, 3]]);
});
