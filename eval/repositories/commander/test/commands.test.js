const test = require('node:test');
const assert = require('node:assert');
const { Command } = require('..');

const quiet = { writeErr: () => {}, writeOut: () => {} };

test('subcommands get their arguments and options', () => {
  const seen = [];
  const program = new Command().exitOverride().configureOutput(quiet);
  program.command('copy <from> [to]').option('-f, --force').action((from, to, options) => seen.push([from, to, options]));
  program.parse(['copy', 'a', 'b', '-f'], { from: 'user' });
  program.parse(['copy', 'c'], { from: 'user' });
  assert.deepStrictEqual(seen[0], ['a', 'b', { force: true }]);
  assert.deepStrictEqual(seen[1].slice(0, 2), ['c', undefined]);
});

test('unknown words get a suggestion', () => {
  const program = new Command().exitOverride().configureOutput(quiet);
  program.command('install').action(() => {});
  assert.throws(() => program.parse(['instal'], { from: 'user' }), /Did you mean install\?/);
  assert.throws(() => program.parse(['install', '--x'], { from: 'user' }), /unknown option '--x'/);
});

test('help', () => {
  const program = new Command('tool').description('does things').option('-a, --all', 'everything');
  program.command('run <file>').description('run a file').alias('r');
  assert.strictEqual(program.helpInformation(), `Usage: tool [options] [command]

does things

Options:
  -a, --all       everything
  -h, --help      display help for command

Commands:
  run|r <file>    run a file
  help [command]  display help for command
`);
});
