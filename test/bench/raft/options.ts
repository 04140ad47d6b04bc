/** The command line of the bench of the replicated state. */

import { parseArgs } from "node:util";

export interface RaftBenchOptions {
  /** A tenth of the time and of the rows: for trying the bench, not for judging. */
  readonly isQuick: boolean;
  readonly isJson: boolean;
  readonly only: readonly string[];
  /** Folder for CPU profiles of every node; undefined: none are taken. */
  readonly profileFolder: string | undefined;
  readonly isStrict: boolean;
}

export const USAGE = `npm run bench:raft -- [--quick] [--only NAME]... [--json] [--profile FOLDER] [--strict]

  --quick           a tenth of the time and of the rows
  --only NAME       this scenario alone; may be given more than once
  --json            the figures as JSON
  --profile FOLDER  writes a CPU profile of every thread of every node there
  --strict          exit status 1 when an aim is missed
`;

export function parseRaftOptions(argv: readonly string[]): RaftBenchOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      profile: { type: "string" },
      strict: { type: "boolean", default: false },
    },
  });
  return {
    isQuick: values.quick,
    isJson: values.json,
    only: values.only,
    profileFolder: values.profile,
    isStrict: values.strict,
  };
}
