/** A program that `BROWSER` may name: signs in as alice at the address it is given. */

import { walk } from "../../e2e/support/oidc-pages.ts";

const [address = ""] = process.argv.slice(2);
await walk(address, new URL(address).origin, { login: "alice" });
