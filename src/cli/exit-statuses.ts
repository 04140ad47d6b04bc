/** Exit statuses of the program, as data: `gateway help exit-status` and the reference print them. */

interface ExitStatusRule {
  readonly status: string;
  /** Meaning for the bare command, which is the gateway itself; empty if it never ends so. */
  readonly gateway: string;
  /** Meaning for a verb; empty if none ends so. */
  readonly verb: string;
}

export const EXIT_STATUSES: readonly ExitStatusRule[] = [
  { status: "0", gateway: "It was stopped by a signal.", verb: "It succeeded." },
  { status: "1", gateway: "It failed in another way.", verb: "It failed or was refused, or the answer is no." },
  {
    status: "2",
    gateway: "The command line is wrong.",
    verb: "The command line is wrong, or an input cannot be read. For `check` such an input is 1.",
  },
  { status: "3", gateway: "", verb: "The gateway cannot be reached." },
  { status: "10", gateway: "The configuration was refused.", verb: "`dev`: the same." },
  { status: "11", gateway: "The storage is damaged, locked or of a newer build.", verb: "`dev`: the same." },
  { status: "12", gateway: "It cannot listen on an address.", verb: "`dev`: the same." },
  { status: "129", gateway: "", verb: "`console`: its terminal was closed." },
  { status: "130", gateway: "A second signal ended it at once.", verb: "It was interrupted." },
  {
    status: "141",
    gateway: "",
    verb: "The reader of its output ended first, as `head` does; shells ignore it unless `pipefail` is set.",
  },
  { status: "143", gateway: "", verb: "`console`: it received SIGTERM." },
];
