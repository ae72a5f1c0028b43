const sleep = (ms) => new Promise((resolve) => {
  setTimeout(resolve, ms);
});

/** Runs a job up to `times` times; the pause doubles after each failure. */
export async function retry(run, { times = 3, pause = 100, wait = sleep } = {}) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(attempt);
    } catch (error) {
      if (attempt >= times) throw error;
      await wait(pause * 2 ** (attempt - 1));
    }
  }
}
