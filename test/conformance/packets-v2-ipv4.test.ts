/** Byte vectors, see vectors/PROVENANCE.md. */
import { declarePacketFile } from './packet-harness.ts'

declarePacketFile('packets-v2-ipv4')
