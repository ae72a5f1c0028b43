import test from 'node:test';
import assert from 'node:assert';
import { DateTime, Settings } from '../src/luxon.js';

Settings.defaultZone = 'utc';

test('every fourth century', () => {
  for (const year of [1600, 2000, 2400]) {
    assert.ok(DateTime.local(year, 2, 29).isValid, String(year));
    assert.strictEqual(DateTime.local(year, 12, 31).ordinal, 366);
    assert.strictEqual(DateTime.local(year).daysInYear, 366);
  }
  for (const year of [1700, 1900, 2100]) {
    assert.ok(!DateTime.local(year, 2, 29).isValid, String(year));
    assert.strictEqual(DateTime.local(year).daysInYear, 365);
  }
});

test('as the engine counts', () => {
  for (let year = 1890; year < 2110; year += 1) {
    assert.strictEqual(DateTime.local(year, 2).daysInMonth, new Date(Date.UTC(year, 2, 0)).getUTCDate(), String(year));
  }
});

test('weeks and days of the year', () => {
  assert.strictEqual(DateTime.fromISO('2000-366').toISODate(), '2000-12-31');
  assert.strictEqual(DateTime.fromISO('2000-W10-1').toISODate(), '2000-03-06');
  assert.strictEqual(DateTime.fromISO('1999-02-28').plus({ years: 1, days: 1 }).toISODate(), '2000-02-29');
});
