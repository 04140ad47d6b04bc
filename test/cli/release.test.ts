/** Parts of `npm run release` with decisions; test/e2e/package/release.test.ts runs the whole. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { releaseNotes } from "../../bin/release/changelog.ts";
import { problemsOfLongResults } from "../../bin/release/long-results.ts";
import { parseOptions } from "../../bin/release/options.ts";
import { provenanceOf, repositoryUri } from "../../bin/release/provenance.ts";

test("options are parsed in any order", () => {
  const plain = { version: "0.2.0", isDryRun: false, skipsTests: false, out: "release/0.2.0" };
  assert.deepEqual(parseOptions(["0.2.0"]), plain);
  assert.deepEqual(parseOptions(["--dry-run", "0.2.0"]), { ...plain, isDryRun: true });
  assert.deepEqual(parseOptions(["--out", "x", "1.0.0-rc.1", "--skip-tests", "--dry-run"]), {
    version: "1.0.0-rc.1",
    isDryRun: true,
    skipsTests: true,
    out: "x",
  });
});

const WRONG_OPTIONS: readonly (readonly [args: readonly string[], problem: RegExp])[] = [
  [[], /version is missing/],
  [["v0.2.0"], /`v0\.2\.0` is not a version/],
  [["0.2"], /is not a version/],
  [["0.2.0", "0.3.0"], /There is one version/],
  [["0.2.0", "--force"], /no option `--force`/],
  [["0.2.0", "--out"], /`--out` needs a folder/],
  [["0.2.0", "--skip-tests"], /goes with `--dry-run`/],
];

for (const [args, problem] of WRONG_OPTIONS) {
  test(`${args.join(" ") || "nothing"} is refused`, () => assert.throws(() => parseOptions(args), problem));
}

const CHANGELOG = `# Changelog

## Unreleased

## [0.2.0] - 2027-01-02

### Added

- This.

## 0.1.0

- That.
`;

test("release notes are the section of the version", () => {
  assert.deepEqual(releaseNotes(CHANGELOG, "0.2.0"), { kind: "notes", text: "### Added\n\n- This.\n" });
  assert.deepEqual(releaseNotes(CHANGELOG, "0.1.0"), { kind: "notes", text: "- That.\n" });
});

test("a missing section, an empty one and remaining unreleased text are problems", () => {
  const problemOf = (text: string, version: string) => {
    const { kind, text: found } = releaseNotes(text, version);
    return kind === "problem" ? found : undefined;
  };
  assert.match(problemOf(CHANGELOG, "0.3.0") ?? "", /no section `## 0\.3\.0`/);
  assert.match(problemOf(CHANGELOG.replace("- That.", ""), "0.1.0") ?? "", /`## 0\.1\.0` .* is empty/);
  assert.match(problemOf(CHANGELOG.replace("Unreleased\n", "Unreleased\n\n- More.\n"), "0.2.0") ?? "", /move it to/);
});

const row = (job: string, outcome: string, commit: string) =>
  `| \`${job}\` | ${outcome} | 1 | 0 | 0 | 1.0 | 1.0 | 2027-01-02 03:04 | \`${commit}\` |`;

const REPORT = ["| Job | Result |", row("a", "passed", "0123456789ab"), row("b", "passed", "ba9876543210"), ""].join(
  "\n",
);

test("passing results of the same source are accepted", () => {
  assert.deepEqual(
    problemsOfLongResults(REPORT, () => true),
    [],
  );
});

const REPORTS: readonly (readonly [what: string, report: string, problem: RegExp])[] = [
  ["no results", "# Results\n", /has no results/],
  ["a failed job", REPORT.replace("passed", "**failed**"), /1 jobs that failed, such as `a`/],
  ["a job that was not run", `${REPORT}\n## Not run\n\n- \`c\`\n- \`d\`\n`, /lists 2 jobs that were not run/],
  [
    "a result for another source tree",
    REPORT.replace("ba9876543210", "aaaaaaaaaaaa"),
    /1 results of other source, such as `b`/,
  ],
  ["a result of changes that were not committed", REPORT.replace("ba9876543210", "ba9876543210+"), /other source/],
  ["a result outside of a repository", REPORT.replace("ba9876543210", "unknown"), /other source/],
];

for (const [what, report, problem] of REPORTS) {
  test(`${what} is a problem`, () => {
    const problems = problemsOfLongResults(report, (commit) => commit !== "aaaaaaaaaaaa");
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", problem);
  });
}

test("a provenance statement has artifact, commit and packages, by digest", () => {
  const bytes = Buffer.from("tarball");
  const sha512 = createHash("sha512").update("package").digest();
  const lock = JSON.stringify({
    packages: {
      "node_modules/@a/b": { version: "1.0.0", integrity: `sha512-${sha512.toString("base64")}` },
      "node_modules/alias": { name: "real", version: "2.0.0", integrity: `sha512-${sha512.toString("base64")}` },
    },
  });
  const text = provenanceOf({
    version: "0.2.0",
    files: [{ name: "gateway-0.2.0.tgz", bytes }],
    source: { commit: "c0ffee", tree: "7ea" },
    lock,
    packages: ["node_modules/alias", "node_modules/@a/b"],
    tools: { node: "20.19.0", npm: "11.0.0" },
  });
  const { predicate, ...statement } = JSON.parse(text);
  assert.equal(statement._type, "https://in-toto.io/Statement/v1");
  assert.equal(statement.predicateType, "https://slsa.dev/provenance/v1");
  assert.equal(statement.subject[0].name, "gateway-0.2.0.tgz");
  assert.equal(statement.subject[0].digest.sha256, createHash("sha256").update(bytes).digest("hex"));
  const { buildDefinition, runDetails } = predicate;
  assert.deepEqual(buildDefinition.externalParameters.source.digest, { gitCommit: "c0ffee", gitTree: "7ea" });
  const [source, lockFile, ...packages] = buildDefinition.resolvedDependencies;
  assert.equal(source.digest.gitCommit, "c0ffee");
  assert.equal(lockFile.digest.sha256, createHash("sha256").update(lock).digest("hex"));
  assert.deepEqual(packages, [
    { uri: "pkg:npm/%40a/b@1.0.0", digest: { sha512: sha512.toString("hex") } },
    { uri: "pkg:npm/real@2.0.0", digest: { sha512: sha512.toString("hex") } },
  ]);
  assert.equal(runDetails.builder.version.node, "20.19.0");
});

test("a package without a digest is refused", () => {
  const lock = JSON.stringify({ packages: { "node_modules/a": { version: "1.0.0" } } });
  const rest = { version: "0.2.0", files: [], source: { commit: "c", tree: "t" }, tools: {} };
  assert.throws(() => provenanceOf({ ...rest, lock, packages: ["node_modules/a"] }), /no digest of node_modules\/a/);
});

const REMOTES: readonly (readonly [remote: string, uri: string | undefined])[] = [
  ["https://git.example.com/a/b.git", "git+https://git.example.com/a/b.git"],
  ["https://user:token@git.example.com/a/b", "git+https://git.example.com/a/b"],
  ["git@git.example.com:a/b.git", "git+ssh://git.example.com/a/b.git"],
  ["ssh://git@git.example.com/a/b", "git+ssh://git.example.com/a/b"],
  ["/srv/git/gateway", undefined],
  ["file:///srv/git/gateway", undefined],
];

for (const [remote, uri] of REMOTES) {
  test(`the source at ${remote} is ${uri ?? "identified by its commit alone"}`, () => {
    assert.equal(repositoryUri(remote), uri);
  });
}
