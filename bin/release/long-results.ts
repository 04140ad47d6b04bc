/**
 * Checks test/LONG.md, which test/runner/long-report.mjs writes: every long test must have run on this source and
 * passed.
 */

const ROW = /^\| `([^`]+)` \| (passed|\*\*failed\*\*) \|(?:[^|]*\|)+ `([0-9a-f]+\+?|unknown)` \|$/;

/** Returns the problems. `isCurrent` says whether only these results changed between a commit and the one to release. */
export function problemsOfLongResults(report: string, isCurrent: (commit: string) => boolean): readonly string[] {
  const rows = report.split("\n").flatMap((line) => {
    const [, job, outcome, commit] = ROW.exec(line) ?? [];
    return job === undefined || commit === undefined ? [] : [{ job, isOk: outcome === "passed", commit }];
  });
  if (rows.length === 0) return ["test/LONG.md has no results: run `npm run test:long`."];
  const [, notRun = ""] = report.split(/^## Not run$/m);
  const left = notRun.split("\n").filter((line) => line.startsWith("- ")).length;
  const failed = rows.filter(({ isOk }) => !isOk).map(({ job }) => job);
  const known = new Map<string, boolean>();
  const old = rows.filter(({ commit }) => {
    if (!known.has(commit)) known.set(commit, /^[0-9a-f]+$/.test(commit) && isCurrent(commit));
    return known.get(commit) === false;
  });
  return [
    ...(left > 0 ? [`test/LONG.md lists ${left} jobs that were not run: run \`npm run test:long\`.`] : []),
    ...(failed.length > 0 ? [`test/LONG.md has ${failed.length} jobs that failed, such as \`${failed[0]}\`.`] : []),
    ...(old.length > 0
      ? [
          `test/LONG.md has ${old.length} results of other source, such as \`${old[0]?.job}\` of commit ${old[0]?.commit}: ` +
            "run `npm run test:long` on this commit.",
        ]
      : []),
  ];
}
