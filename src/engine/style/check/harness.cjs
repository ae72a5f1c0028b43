const caissonAssert = require('node:assert');

async function caissonLoad(paths) {
  for (const path of paths) {
    let found = {};
    try {
      found = require(path);
    } catch {
      try {
        found = await import(path);
      } catch {
        continue;
      }
    }
    for (const part of [found.default, found]) {
      if (typeof part === 'function' && part.name) globalThis[part.name] = part;
      if (part && typeof part === 'object') for (const [key, value] of Object.entries(part)) globalThis[key] = value;
    }
  }
}

function caissonSame(got, wanted) {
  if (String(got) === wanted || JSON.stringify(got) === wanted) return true;
  try {
    caissonAssert.deepEqual(JSON.parse(JSON.stringify(got)), JSON.parse(JSON.stringify((0, eval)(`(${wanted})`))));
    return true;
  } catch {
    return got === undefined && wanted === 'undefined';
  }
}

function caissonSay(number, holds, seen) {
  const line = String(seen).split(/\s+/).join(' ').slice(0, 200);
  console.log(`\ncaisson-example ${number} ` + (holds ? 'holds' : `gives ${line}`));
}

async function caissonCheck(number, call, wanted, error) {
  try {
    const got = await call();
    caissonSay(number, !error && caissonSame(got, wanted), require('node:util').inspect(got));
  } catch (raised) {
    const kind = raised && raised.constructor ? raised.constructor.name : typeof raised;
    caissonSay(number, error && (kind === wanted || raised.name === wanted), `${kind}: ${raised && raised.message}`);
  }
}

