import type { DeviceRecord } from "../protocol";
import { strings } from "../strings";

/** What a record says, in words: a name and what holds for it. */
export function factsOf(record: DeviceRecord, show: (time: string) => string): [string, string][] {
  const words = strings.device;
  return [
    [words.role, words.roles[record.role]],
    [words.until, record.expires_at === null ? words.noEnd : show(record.expires_at)],
    [words.key, record.key_bound ? words.bound : words.unbound],
    [words.tailnet, tailnetOf(record)],
    [words.connections, words.open(record.connections)],
    [words.paired, words.since(show(record.created_at), record.approved_from)],
    ...(record.can_revoke ? [[words.grant, words.canRevoke] as [string, string]] : []),
  ];
}

function tailnetOf({ tailnet_node, any_path }: DeviceRecord): string {
  if (tailnet_node !== null) return any_path ? strings.device.nodeAnyPath(tailnet_node) : strings.device.node(tailnet_node);
  return strings.device.noNode;
}
