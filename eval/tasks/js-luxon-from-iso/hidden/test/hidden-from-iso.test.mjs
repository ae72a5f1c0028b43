import test from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';
import * as module from '../src/interval.js';
import { Interval, Settings } from '../src/luxon.js';

Settings.defaultZone = 'utc';

function cases() {
  assert.strictEqual(Interval.fromISO('2024-01-01/2024-01-03').toISODate(), '2024-01-01/2024-01-03');
  assert.strictEqual(Interval.fromISO('2024-01-01/P1M').toISODate(), '2024-01-01/2024-02-01');
  assert.strictEqual(Interval.fromISO('P1M/2024-02-01').toISODate(), '2024-01-01/2024-02-01');
  assert.strictEqual(Interval.fromISO('2024-01-01T00:00+02:00/PT1H', { setZone: true }).start.offset, 120);
}

test('all three forms', cases);

test('what can not be read', () => {
  for (const text of [null, '', '/', '2024-01-01/', '2024-01-01/x', 'P1D/P1D']) {
    assert.strictEqual(Interval.fromISO(text).invalidReason, 'unparsable', String(text));
  }
  assert.strictEqual(Interval.fromISO('2024-01-03/2024-01-01').invalidReason, 'end before start');
});

test('with throwOnInvalid', () => {
  Settings.throwOnInvalid = true;
  try {
    cases();
    assert.throws(() => Interval.fromISO('2024-01-01/x'));
    assert.throws(() => Interval.fromISO(''));
  } finally {
    Settings.throwOnInvalid = false;
  }
});

test('in one place', () => {
  const text = readFileSync(new URL('../src/interval.js', import.meta.url), 'utf8');
  assert.strictEqual(text.match(/catch\s*[({]/g).length, 1);
  assert.strictEqual(text.split('DateTime.fromISO(').length, 2);
  assert.doesNotMatch(text, /startIsValid|endIsValid/);
  assert.deepStrictEqual(Object.keys(module), ['default']);
});
