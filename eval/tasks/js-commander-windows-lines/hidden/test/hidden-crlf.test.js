const test = require('node:test');
const assert = require('node:assert');
const { Command, Help } = require('..');

const wrap = (text, width = 80, indent = 0) => new Help().wrap(text, width, indent);

test('all line ends', () => {
  assert.strictEqual(wrap('one\r\ntwo\r\nthree'), 'one\ntwo\nthree');
  assert.strictEqual(wrap('ab   one\r\ntwo\r\nthree', 80, 5), 'ab   one\n     two\n     three');
  assert.strictEqual(wrap('1\r\n2\r\n3\r\n4\r\n5'), '1\n2\n3\n4\n5');
});

test('empty lines are kept', () => {
  assert.strictEqual(wrap('one\r\n\r\ntwo\r\nthree'), wrap('one\n\ntwo\nthree'));
  assert.strictEqual(wrap('one\r\n\r\ntwo\r\nthree'), 'one\n\ntwo\nthree');
});

test('long lines', () => {
  const text = `${'word '.repeat(30)}\nand\n${'more '.repeat(30)}`;
  assert.strictEqual(wrap(text.replace(/\n/g, '\r\n'), 60), wrap(text, 60));
});

test('as before', () => {
  assert.strictEqual(wrap('one\ntwo\nthree'), 'one\ntwo\nthree');
  assert.strictEqual(wrap('one\r\ntwo'), 'one\ntwo');
});

test('in the help', () => {
  const program = new Command('prog').description('one\r\ntwo\r\nthree');
  assert.match(program.helpInformation(), /\n\none\ntwo\nthree\n\n/);
});
