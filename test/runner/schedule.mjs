/**
 * In which order jobs run, and how many at once.
 *
 * A job is `{name, seconds, load}`: how long it takes and how many cores it keeps busy meanwhile, as last measured. The
 * longest start first, so that the end is not one of them alone; as many run at once as the machine has cores for, which
 * are more where they wait than where they compute.
 */

/** Of which nothing is known yet. */
export const UNKNOWN = { seconds: 2, load: 0.7 };

/** A job that only waits still starts processes, and what it waits for must not come late because there are fifty. */
const LEAST_LOAD = 0.3;

/** Runs `work(job)` for each of the jobs; `cores` may be a fraction. Resolves with the results in the order of the jobs. */
export async function runAll(jobs, cores, work) {
  const waiting = jobs.map((job, index) => ({ job, index, load: loadOf(job, cores) }));
  waiting.sort((a, b) => (b.job.seconds ?? UNKNOWN.seconds) - (a.job.seconds ?? UNKNOWN.seconds));
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

function loadOf({ load = UNKNOWN.load }, cores) {
  return Math.min(cores, Math.max(LEAST_LOAD, load));
}
