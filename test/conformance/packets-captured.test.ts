/** Packets that keepalived and FRR really send, see vectors/PROVENANCE.md. */
import { describe, expect, test } from 'vitest'
import { whyNotPacket } from './applicability.ts'
import { declarePacketFile, fieldsOf, receiveVector } from './packet-harness.ts'

const all = declarePacketFile('packets-captured')
const applicable = all.filter((vector) => whyNotPacket(vector) === undefined)

describe('a captured packet of keepalived or FRR', () => {
  test.each(applicable.map((vector) => [vector.id, vector] as const))(
    '%s is accepted with the default profile',
    (_, vector) => {
      expect(receiveVector(vector, 'holdfast')).toMatchObject({ kind: 'accepted' })
    },
  )

  const refused = applicable.filter((vector) => vector.decoded_by_tshark !== undefined)
  test.each(refused.map((vector) => [vector.id, vector] as const))(
    '%s, refused by EID 8300, is accepted without that knob and decodes as tshark reads it',
    (_, vector) => {
      const received = receiveVector(vector, 'rfc9568', { firstAddressLinkLocal: false })
      expect(received).toMatchObject({ kind: 'accepted', checksumForms: vector.expect.checksum_matches })
      expect(fieldsOf(vector)).toEqual(vector.decoded_by_tshark)
    },
  )
})
