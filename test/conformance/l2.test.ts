/** Addresses and frames of the link layer, see vectors/PROVENANCE.md. */
import { describe, expect, test } from 'vitest'
import { gratuitousArp } from '../../src/arp/gratuitous-arp.ts'
import { neighborAdvertisement, solicitedNodeGroup } from '../../src/arp/neighbor-advertisement.ts'
import { announcementIn } from '../../src/arp/probe.ts'
import { type Address, address, familyOf } from '../../src/wire/address.ts'
import { BROADCAST_MAC, type Mac, macFromBytes, multicastMac, virtualRouterMac } from '../../src/wire/mac.ts'
import { fromHex, toHex } from '../support/hex.ts'
import { declareApplicability, sortVectors, whyNotL2 } from './applicability.ts'
import { type L2Vector, l2Vectors } from './vector-file.ts'

const macOf = (text: string): Mac => macFromBytes(fromHex(text.replaceAll(':', '')))

function targetAddress({ id, input }: L2Vector): Address {
  if (input.address === undefined) throw new Error(`${id} names no address`)
  return address(input.address)
}

/** Returns the MAC of the sender. Without `mac` the vectors mean the virtual MAC of the VRID. */
const senderMac = ({ input }: L2Vector, target: Address): Mac =>
  input.mac === undefined ? virtualRouterMac(input.vrid ?? 0, familyOf(target)) : macOf(input.mac)

function targetMac(vector: L2Vector, sender: Mac): Mac {
  switch (vector.input.style) {
    case 'rfc9568':
      return sender
    case 'rfc5227':
      return macFromBytes(new Uint8Array(6))
    case 'broadcast-tha':
      return BROADCAST_MAC
    default:
      throw new Error(`${vector.id}: unknown style ${vector.input.style}`)
  }
}

function check(vector: L2Vector): void {
  const { expect: expected, id, input, kind } = vector
  switch (kind) {
    case 'virtual-mac':
      expect(virtualRouterMac(input.vrid ?? 0, input.family ?? 'ipv4'), id).toBe(expected.mac)
      return
    case 'multicast-mac':
      expect(multicastMac(targetAddress(vector)), id).toBe(expected.mac)
      return
    case 'solicited-node': {
      const group = solicitedNodeGroup(targetAddress(vector))
      expect({ group, mac: multicastMac(group) }, id).toEqual({ group: expected.group, mac: expected.mac })
      return
    }
    case 'garp': {
      const target = targetAddress(vector)
      const mac = senderMac(vector, target)
      const frame = gratuitousArp({ address: target, mac, targetMac: targetMac(vector, mac) })
      expect(toHex(frame), id).toBe(expected.frame_hex)
      expect(announcementIn(frame), `${id} read back`).toEqual({ address: target, mac })
      return
    }
    case 'unsolicited-na': {
      const target = targetAddress(vector)
      const mac = senderMac(vector, target)
      const frame = neighborAdvertisement({ address: target, mac })
      expect(toHex(frame), id).toBe(expected.frame_hex)
      expect(announcementIn(frame), `${id} read back`).toEqual({ address: target, mac })
      return
    }
    default:
      expect.fail(`${id}: this harness does not know the kind "${kind}"`)
  }
}

const all = l2Vectors()
const sorted = sortVectors(all, whyNotL2)

describe('the link-layer addresses and frames of the vectors', () => {
  test.each(sorted.run)('are those of vector %s', (_, vector) => check(vector))
  declareApplicability(all, sorted)

  test.for(sorted.listed)('do not apply to vector %s (%3$s)', ([, vector, reason]) => {
    expect(whyNotL2(vector)).toBe(reason)
  })

  const answers = all.filter((vector) => vector.kind.endsWith('-na') || vector.kind.endsWith('-reply'))
  test.each(answers.flatMap((v) => (typeof v.expect.frame_hex === 'string' ? [[v.id, v.expect.frame_hex]] : [])))(
    '%s is heard as a claim',
    (_, frame) => {
      const claim = announcementIn(fromHex(frame ?? ''))
      expect(claim?.mac).toMatch(/^00:00:5e:00:0[12]:/)
    },
  )
})
