const test = require('node:test');
const assert = require('node:assert');
const { Command, Option } = require('..');

function parsed(option, ...words) {
  return new Command().exitOverride().configureOutput({ writeErr: () => {} }).addOption(option).parse(words, { from: 'user' }).opts();
}

test('other letters are accepted, the choice is the value', () => {
  const option = () => new Option('--level <level>').choices(['debug', 'Info'], { ignoreCase: true });
  assert.deepStrictEqual(parsed(option(), '--level', 'DEBUG'), { level: 'debug' });
  assert.deepStrictEqual(parsed(option(), '--level', 'INFO'), { level: 'Info' });
  assert.throws(() => parsed(option(), '--level', 'trace'), /Allowed choices are debug, Info\./);
});

test('an exact match wins', () => {
  const option = new Option('--level <level>').choices(['A', 'a'], { ignoreCase: true });
  assert.deepStrictEqual(parsed(option, '--level', 'a'), { level: 'a' });
});

test('variadic', () => {
  const option = new Option('--level <level...>').choices(['x', 'Y'], { ignoreCase: true });
  assert.deepStrictEqual(parsed(option, '--level', 'X', 'y'), { level: ['x', 'Y'] });
});

test('without it nothing changes', () => {
  assert.throws(() => parsed(new Option('--level <level>').choices(['x']), '--level', 'X'), /Allowed choices are x\./);
  assert.throws(() => parsed(new Option('--level <level>').choices(['x'], { ignoreCase: false }), '--level', 'X'), /Allowed/);
});
