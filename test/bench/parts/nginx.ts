/** nginx as a second yardstick, if installed: one process, keep-alive to the upstream, logs off. */

import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../e2e/support/ports.ts";
import { type Piece, startChild, waitForPort } from "./children.ts";

export function isNginxInstalled(): boolean {
  return spawnSync("nginx", ["-v"]).status === 0;
}

export async function startNginx(folder: string, upstreamPort: number): Promise<Piece> {
  const port = await freePort();
  const prefix = join(folder, `nginx-${port}`);
  await mkdir(prefix);
  await writeFile(join(prefix, "nginx.conf"), configure(port, upstreamPort));
  const child = startChild("nginx", ["-p", prefix, "-c", "nginx.conf", "-e", "stderr"]);
  await waitForPort(port, child);
  return Object.assign(child, { port });
}

/** One process without a master, so that its CPU time is the total. Temporary paths are relative to the prefix. */
function configure(port: number, upstreamPort: number): string {
  return `daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_requests 100000000;
  client_max_body_size 32m;
  client_body_buffer_size 2m;
  upstream bench {
    server 127.0.0.1:${upstreamPort};
    keepalive 256;
    keepalive_requests 100000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://bench;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
}
