/**
 * Order and number of concurrent jobs.
 *
 * A job is `{name, seconds, load}`: its duration, and how many cores it keeps busy, as last measured. The longest jobs
 * start first, so that none of them runs alone at the end. The number of concurrent jobs follows the number of cores;
 * jobs that mostly wait count for less than a core.
 */

/** Values for a job that was never measured. */
export const UNMEASURED = { seconds: 2, load: 0.7 };

/** Even a job that only waits starts processes, and fifty such jobs at once would delay what they wait for. */
const MIN_LOAD = 0.3;

/** Runs `work(job)` for each job; `cores` may be a fraction. Resolves with the results in the order of the jobs. */
export async function runAll(jobs, cores, work) {
  const waiting = jobs.map((job, index) => ({ job, index, load: loadOf(job, cores) }));
  waiting.sort((a, b) => (b.job.seconds ?? UNMEASURED.seconds) - (a.job.seconds ?? UNMEASURED.seconds));
  const results = new Array(jobs.length);
  const running = new Set();
  let busy = 0;
  while (waiting.length > 0 || running.size > 0) {
    let next = waiting.findIndex(({ load }) => running.size === 0 || busy + load <= cores + 1e-9);
    while (next >= 0) {
      const [{ job, index, load }] = waiting.splice(next, 1);
      busy += load;
      const done = Promise.resolve(work(job)).then((result) => {
        results[index] = result;
        busy -= load;
        running.delete(done);
      });
      running.add(done);
      next = waiting.findIndex((one) => busy + one.load <= cores + 1e-9);
    }
    await Promise.race(running);
  }
  return results;
}

function loadOf({ load = UNMEASURED.load }, cores) {
  return Math.min(cores, Math.max(MIN_LOAD, load));
}
