import type { Target } from './target.ts'
import { ANSWER } from './targets/answer.ts'
import { CLEANUP_PLAN } from './targets/cleanup-plan.ts'
import { FRAME } from './targets/frame.ts'
import { KEEPALIVED } from './targets/keepalived.ts'
import { NETLINK } from './targets/netlink.ts'
import { PACKET } from './targets/packet.ts'
import { PEER } from './targets/peer.ts'
import { REQUEST } from './targets/request.ts'
import { YAML } from './targets/yaml.ts'

/** Everything that reads what others have written. */
export const TARGETS: readonly Target[] = [
  PACKET,
  FRAME,
  NETLINK,
  CLEANUP_PLAN,
  KEEPALIVED,
  YAML,
  REQUEST,
  ANSWER,
  PEER,
]
