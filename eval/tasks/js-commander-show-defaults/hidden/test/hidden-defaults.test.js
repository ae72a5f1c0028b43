const test = require('node:test');
const assert = require('node:assert');
const { Argument, Command, Help, Option } = require('..');

const hiding = () => Object.assign(new Help(), { showDefaults: false });

test('true to begin with', () => {
  const help = new Help();
  assert.strictEqual(help.showDefaults, true);
  assert.strictEqual(help.optionDescription(new Option('--size <n>', 'how big').default(3)), 'how big (default: 3)');
  assert.strictEqual(help.argumentDescription(new Argument('[n]', 'how big').default(3)), 'how big (default: 3)');
});

test('options without defaults', () => {
  const size = () => new Option('--size <n>', 'how big').default(3);
  assert.strictEqual(hiding().optionDescription(size()), 'how big');
  assert.strictEqual(hiding().optionDescription(size().choices(['1', '3'])), 'how big (choices: "1", "3")');
  assert.strictEqual(hiding().optionDescription(size().default(3, 'three').env('SIZE')), 'how big (env: SIZE)');
  const color = new Option('--color [name]', 'which').default('red').preset('blue');
  assert.strictEqual(hiding().optionDescription(color), 'which (preset: "blue")');
});

test('arguments without defaults', () => {
  const size = () => new Argument('[n]', 'how big').default('3');
  assert.strictEqual(hiding().argumentDescription(size()), 'how big');
  assert.strictEqual(hiding().argumentDescription(size().choices(['1', '3'])), 'how big (choices: "1", "3")');
});

test('in the whole help', () => {
  const program = new Command('prog').option('--size <n>', 'how big', '3').argument('[file]', 'what', 'x.txt');
  assert.match(program.helpInformation(), /default: "3"/);
  assert.match(program.helpInformation(), /default: "x\.txt"/);
  program.configureHelp({ showDefaults: false });
  assert.doesNotMatch(program.helpInformation(), /default/);
  assert.match(program.helpInformation(), /--size <n>\s+how big\n/);
});
