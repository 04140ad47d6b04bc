/**
 * `npm run peers [-- NAME...]` installs every peer, or those named, so that no test has to wait for an installation.
 */

import { findOrInstall } from "./peer.ts";
import { PEERS, type PeerName } from "./table.ts";

/** Limit for peers that are compiled, on a busy machine. */
const LIMIT_MS = 1_200_000;

const known = Object.keys(PEERS) as PeerName[];
const named = process.argv.slice(2);
const unknown = named.filter((name) => !known.some((one) => one === name));
if (unknown.length > 0) {
  process.stderr.write(`no peer ${unknown.join(", ")}; there are ${known.join(", ")}\n`);
  process.exitCode = 2;
} else {
  for (const name of known.filter((one) => named.length === 0 || named.includes(one))) {
    const found = await findOrInstall(name, PEERS[name], { limitMs: LIMIT_MS, isPatient: true });
    process.stdout.write(`${found.missing === false ? `${name}: ${found.path}` : found.missing}\n`);
    if (found.missing !== false) process.exitCode = 1;
  }
}
