const test = require('node:test');
const assert = require('node:assert');
const { Command, Option, Argument } = require('..');

const program = () => new Command().exitOverride().configureOutput({ writeErr: () => {}, writeOut: () => {} });
const parsed = (command, ...words) => command.parse(words, { from: 'user' }).opts();

test('boolean, value and negated options', () => {
  const make = () => program().option('-d, --debug').option('-p, --port <number>', 'port', '80').option('--no-color');
  assert.deepStrictEqual(parsed(make()), { port: '80', color: true });
  assert.deepStrictEqual(parsed(make(), '-d', '-p', '8080', '--no-color'), { port: '8080', color: false, debug: true });
});

test('names become camel case', () => {
  assert.deepStrictEqual(parsed(program().option('--dry-run-only'), '--dry-run-only'), { dryRunOnly: true });
});

test('variadic options collect, in place of the default', () => {
  const make = () => program().addOption(new Option('-n, --names <name...>').default(['x']));
  assert.deepStrictEqual(parsed(make()), { names: ['x'] });
  assert.deepStrictEqual(parsed(make(), '-n', 'a', 'b', '-n', 'c'), { names: ['a', 'b', 'c'] });
});

test('choices', () => {
  const make = () => program().addOption(new Option('--size <size>').choices(['small', 'Large']));
  assert.deepStrictEqual(parsed(make(), '--size', 'small'), { size: 'small' });
  assert.throws(() => parsed(make(), '--size', 'huge'), /Allowed choices are small, Large/);
});

test('arguments of choices', () => {
  const make = () => program().addArgument(new Argument('<colour...>').choices(['red', 'blue'])).action(() => {});
  assert.deepStrictEqual(make().parse(['red', 'blue', 'red'], { from: 'user' }).processedArgs, [['red', 'blue', 'red']]);
  assert.throws(() => make().parse(['pink'], { from: 'user' }), /Allowed choices/);
});

test('conflicts, implied values and the environment', () => {
  const make = () => program()
    .addOption(new Option('--quiet').conflicts('loud'))
    .addOption(new Option('--loud').implies({ level: 9 }))
    .addOption(new Option('--level <n>').env('COMMANDER_TEST_LEVEL'));
  assert.deepStrictEqual(parsed(make(), '--loud'), { loud: true, level: 9 });
  assert.throws(() => parsed(make(), '--loud', '--quiet'), /cannot be used with/);
  process.env.COMMANDER_TEST_LEVEL = '3';
  try {
    assert.deepStrictEqual(parsed(make()), { level: '3' });
  } finally {
    delete process.env.COMMANDER_TEST_LEVEL;
  }
});
