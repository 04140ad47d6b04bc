/** The in-memory implementation of certificate rows follows the contract of a cluster's rows. */
import { createMemoryCluster } from "./support/memory-cluster.ts";
import { storeContract } from "./support/store-contract.ts";

storeContract("rows in memory", async () => createMemoryCluster().store("n1"));
