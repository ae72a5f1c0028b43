import test from 'node:test';
import assert from 'node:assert';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { DateTime, Settings } from '../src/luxon.js';
import * as util from '../src/impl/util.js';

Settings.defaultZone = 'utc';
Settings.defaultLocale = 'en-US';

function* sources(folder) {
  for (const name of readdirSync(folder)) {
    const url = new URL(name, folder);
    if (statSync(url).isDirectory()) yield* sources(new URL(`${name}/`, folder));
    else yield url;
  }
}

test('expandYear', () => {
  assert.strictEqual(util.expandYear(24), 2024);
  assert.strictEqual(util.expandYear(99), 1999);
  assert.strictEqual(util.expandYear(0), 2000);
  assert.strictEqual(util.expandYear(100), 100);
  assert.strictEqual(util.expandYear(1850), 1850);
});

test('the old name is gone', () => {
  assert.strictEqual(util.untruncateYear, undefined);
  for (const url of sources(new URL('../src/', import.meta.url))) {
    assert.ok(!readFileSync(url, 'utf8').includes('untruncateYear'), url.pathname);
  }
});

test('both parsers use the new one', () => {
  for (const name of ['tokenParser', 'regexParser']) {
    assert.match(readFileSync(new URL(`../src/impl/${name}.js`, import.meta.url), 'utf8'), /\bexpandYear\b/);
  }
});

test('years are read as before', () => {
  assert.strictEqual(DateTime.fromFormat('06/05/24', 'dd/MM/yy').year, 2024);
  assert.strictEqual(DateTime.fromFormat('06/05/85', 'dd/MM/yy').year, 1985);
  assert.strictEqual(DateTime.fromRFC2822('Mon, 06 May 24 07:08:09 +0000').year, 2024);
  assert.strictEqual(DateTime.fromRFC2822('Mon, 06 May 2024 07:08:09 +0000').year, 2024);
});
