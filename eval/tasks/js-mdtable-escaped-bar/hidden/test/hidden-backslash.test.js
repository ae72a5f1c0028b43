'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { format, parse } = require('..');

const B = '\\';

test('two backslashes before a bar end the cell', () => {
  assert.deepStrictEqual(parse(`|h|i|\n|-|-|\n|C:${B}${B}|b|\n`).rows[1], [`C:${B}`, 'b']);
  assert.deepStrictEqual(parse(`|h|i|\n|-|-|\n|x|C:${B}${B}|\n`).rows[1], ['x', `C:${B}`]);
});

test('one before a bar is a bar', () => {
  assert.deepStrictEqual(parse(`|h|i|\n|-|-|\n|a${B}|b|c|\n`).rows[1], ['a|b', 'c']);
  assert.deepStrictEqual(parse(`|h|i|\n|-|-|\n|a${B}${B}${B}|b|c|\n`).rows[1], [`a${B}|b`, 'c']);
});

test('other backslashes stay', () => {
  assert.deepStrictEqual(parse(`|h|\n|-|\n|a${B}nb|\n`).rows[1], [`a${B}nb`]);
  assert.strictEqual(format([[`a${B}nb`]]).split('\n')[0], `| a${B}nb |`);
});

test('reading what was written', () => {
  for (const cell of [`${B}`, `a${B}`, `a${B}|b`, `|`, `${B}${B}`, `a${B}${B}|`, `${B}|${B}|${B}`, `a${B}b`, `${B}${B}${B}n`]) {
    const rows = [['h', 'i'], [cell, 'x'], ['y', cell]];
    assert.deepStrictEqual(parse(format(rows)).rows, rows, cell);
  }
});
