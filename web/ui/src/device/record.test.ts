import { expect, test } from "vitest";
import type { DeviceRecord } from "../protocol";
import { factsOf } from "./record";

const RECORD: DeviceRecord = {
  id: "dev_0123456789abcdef",
  label: "Phone",
  role: "viewer",
  can_revoke: false,
  any_path: false,
  key_bound: true,
  created_at: "2026-01-01T00:00:00Z",
  approved_from: "100.64.0.1:5000",
  tailnet_node: null,
  expires_at: null,
  last_seen_at: null,
  last_address: null,
  connections: 2,
};

const said = (change: Partial<DeviceRecord>) => Object.fromEntries(factsOf({ ...RECORD, ...change }, (time) => `<${time}>`));

test("a device that nothing ends by itself is told what would", () => {
  expect(said({})["Trusted until"]).toMatch(/revoked.*90 days/);
  expect(said({ expires_at: "2026-02-01T00:00:00Z" })["Trusted until"]).toBe("<2026-02-01T00:00:00Z>");
});

test("where a device may come from is said for each kind of binding", () => {
  const way = (change: Partial<DeviceRecord>) => said(change)["Tailnet"] ?? "";
  expect(way({})).toMatch(/no node/);
  expect(way({ tailnet_node: "nXYZ" })).toMatch(/nXYZ.*only/);
  expect(way({ tailnet_node: "nXYZ", any_path: true })).toMatch(/nXYZ.*other ways/);
});

test("a grant is named where there is one", () => {
  expect(said({})).not.toHaveProperty("Also");
  expect(said({ can_revoke: true })["Also"]).toMatch(/revoke/);
});
