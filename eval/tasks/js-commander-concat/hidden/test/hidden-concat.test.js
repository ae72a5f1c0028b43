const test = require('node:test');
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { Argument, Option } = require('..');

test('the function', () => {
  const { concatValue } = require('../lib/concatValue.js');
  const fallback = ['x'];
  assert.deepStrictEqual(concatValue('a', fallback, fallback), ['a']);
  assert.deepStrictEqual(concatValue('a', undefined, fallback), ['a']);
  assert.deepStrictEqual(concatValue('b', ['a'], fallback), ['a', 'b']);
  assert.deepStrictEqual(fallback, ['x']);
});

test('both classes still have their method', () => {
  for (const it of [new Argument('<a...>').default(['x']), new Option('-a <a...>').default(['x'])]) {
    assert.deepStrictEqual(it._concatValue('a', it.defaultValue), ['a']);
    assert.deepStrictEqual(it._concatValue('b', ['a']), ['a', 'b']);
  }
});

test('and no copy of the code', () => {
  for (const file of ['argument.js', 'option.js']) {
    const text = fs.readFileSync(path.join(__dirname, '..', 'lib', file), 'utf8');
    assert.doesNotMatch(text, /isArray|previous\.concat/);
    assert.match(text, /require\(['"]\.\/concatValue(\.js)?['"]\)/);
  }
});
