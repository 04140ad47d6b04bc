/**
 * Links of the pages. In the repository they lead from file to file, so that a code host follows them; on the site each becomes
 * the address of the page, of a copy of the file, or of the file at the code host.
 */

import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { sitePathOf } from "./pages.ts";

/** Folder of the site with copies of linked files. */
export const FILES = "files";

export interface Resolved {
  /** Address on the site; `undefined` if there is nothing to link to. */
  readonly href: string | undefined;
  /** File of the repository that must be copied, if any. */
  readonly copied?: string;
}

/** `from`: path of the page in the repository. `repository`: address of the code host's page of it, if known. */
export function resolveLink(root: string, from: string, target: string, repository: string | undefined): Resolved {
  if (/^[a-z][a-z0-9+.-]*:|^#/i.test(target)) return { href: target };
  const [path = "", hash] = target.split("#");
  const after = hash === undefined ? "" : `#${hash}`;
  const whole = normalize(join(dirname(from), decodeURI(path)))
    .replaceAll("\\", "/")
    .replace(/\/$/, "");
  const page = sitePathOf(whole) ?? sitePathOf(`${whole}/README.md`);
  const source = sitePathOf(whole) === undefined ? `${whole}/README.md` : whole;
  if (page !== undefined && existsSync(join(root, source))) return { href: `/${page}${after}` };
  if (!existsSync(join(root, whole))) return { href: target };
  if (repository !== undefined) return { href: `${repository}/blob/main/${whole}${after}` };
  if (statSync(join(root, whole)).isDirectory()) return { href: undefined };
  return { href: `/${FILES}/${whole}`, copied: whole };
}
