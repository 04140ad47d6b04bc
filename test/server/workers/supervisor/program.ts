/** A process that says hello and serves nothing; it cannot be started while the file of `BROKEN` exists. */
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { openChannel } from "../../../../src/server/workers/index.ts";

if (existsSync(process.env["BROKEN"] ?? "")) process.exit(7);
const channel = openChannel(new Socket({ fd: 3 }), () => process.exit(3));
void channel.closed.then(() => process.exit(0));
channel.send("hello", { version: "1" });
