/** A program for `BROWSER`: signs in as alice at the given address. */

import { walk } from "../../e2e/support/oidc-pages.ts";

const [address = ""] = process.argv.slice(2);
await walk(address, new URL(address).origin, { login: "alice" });
