"""The other end of a test on real ROS 2: a rclpy node that does what lines of JSON on stdin ask for.

A request is {"id": n, "op": name, ...arguments}; it is answered on stdout by {"id": n, "ok": value} or
{"id": n, "error": text}. What a subscription receives comes as {"subscription": n, "message": {...}}. Ends when stdin
closes. rclpy-peer.ts is the client, peer.ts says what each request does. Messages are JSON as the project writes it
(shared/ros/to-json): integers beyond 2^53 as decimal strings, NaN and infinities as strings, lists of bytes as base64.
"""

import base64
import importlib
import json
import math
import os
import sys
import threading
import time

import rclpy
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.duration import Duration
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from rclpy.serialization import deserialize_message, serialize_message
from random_messages import random_messages
from rosidl_parser.definition import AbstractNestedType, Array, BasicType, NamespacedType

WORDS = {'NaN': math.nan, 'Infinity': math.inf, '-Infinity': -math.inf}


def interface(name):
    package, kind, type_name = name.split('/')
    # `Name_Goal`, `Name_Request`: a part of an action or a service.
    owner, _, part = type_name.partition('_')
    found = getattr(importlib.import_module(f'{package}.{kind}'), owner)
    return getattr(found, part) if part else found


def fields(message):
    return zip(message.get_fields_and_field_types(), message.SLOT_TYPES)


def is_bytes(slot):
    return isinstance(slot, BasicType) and slot.typename in ('octet', 'uint8', 'char')


def to_json(message):
    return {name: value_to_json(getattr(message, name), slot) for name, slot in fields(message)}


def value_to_json(value, slot):
    if isinstance(slot, AbstractNestedType):
        if is_bytes(slot.value_type):
            return base64.b64encode(b''.join(value) if slot.value_type.typename == 'octet' else bytes(value)).decode()
        return [value_to_json(entry, slot.value_type) for entry in value]
    if isinstance(slot, NamespacedType):
        return to_json(value)
    if isinstance(slot, BasicType) and slot.typename == 'octet':
        return value[0]
    if isinstance(slot, BasicType) and slot.typename == 'boolean':
        return bool(value)
    if isinstance(slot, BasicType) and slot.typename in ('float', 'double'):
        value = float(value)
        if math.isfinite(value):
            return value
        return 'NaN' if math.isnan(value) else 'Infinity' if value > 0 else '-Infinity'
    if isinstance(slot, BasicType):
        return int(value) if abs(int(value)) < 2**53 else str(int(value))
    return str(value)


def from_json(message, value):
    slots = dict(fields(message))
    for name, entry in value.items():
        setattr(message, name, value_from_json(entry, slots[name]))
    return message


def value_from_json(value, slot):
    if isinstance(slot, AbstractNestedType):
        if is_bytes(slot.value_type):
            data = base64.b64decode(value) if isinstance(value, str) else bytes(value)
            return [bytes([byte]) for byte in data] if slot.value_type.typename == 'octet' else list(data)
        return [value_from_json(entry, slot.value_type) for entry in value]
    if isinstance(slot, NamespacedType):
        return from_json(interface('/'.join(slot.namespaced_name()))(), value)
    if isinstance(slot, BasicType) and slot.typename == 'octet':
        return bytes([value])
    if isinstance(slot, BasicType) and slot.typename in ('float', 'double'):
        return WORDS[value] if isinstance(value, str) else float(value)
    if isinstance(slot, BasicType) and slot.typename != 'boolean':
        return int(value)
    return value


def qos(request):
    profile = QoSProfile(depth=request.get('depth', 10))
    best_effort = request.get('reliability') == 'best_effort'
    latched = request.get('durability') == 'transient_local'
    profile.reliability = ReliabilityPolicy.BEST_EFFORT if best_effort else ReliabilityPolicy.RELIABLE
    profile.durability = DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE
    for policy in ('deadline', 'lifespan', 'liveliness_lease_duration'):
        if policy in request:
            setattr(profile, policy, Duration(seconds=request[policy]))
    if request.get('liveliness') == 'manual_by_topic':
        profile.liveliness = LivelinessPolicy.MANUAL_BY_TOPIC
    return profile


def same_fields(source, target):
    """Copies what both have, for the servers that echo."""
    for name in target.get_fields_and_field_types():
        if hasattr(source, name):
            setattr(target, name, getattr(source, name))
    return target


class Peer:
    """Runs every request as a task of the node's executor, so that rclpy is only ever called from one thread."""

    def __init__(self, name):
        self.node = rclpy.create_node(name)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.output = threading.Lock()
        self.subscriptions = []
        self.publishers = []
        self.servers = []
        self.goals_asked = {}
        self.calls_asked = {}

    def say(self, line):
        with self.output:
            sys.stdout.write(json.dumps(line) + '\n')
            sys.stdout.flush()

    async def handle(self, request):
        try:
            answer = await getattr(self, 'op_' + request['op'])(request)
            self.say({'id': request['id'], 'ok': answer})
        except Exception as error:  # told to the test, which fails on it
            self.say({'id': request['id'], 'error': f'{type(error).__name__}: {error}'})

    async def sleep(self, seconds):
        if seconds <= 0:
            return
        future = Future(executor=self.executor)

        def elapsed():
            future.set_result(None)
            # It looks at what waits for a future only when something happens.
            self.executor.wake()

        timer = threading.Timer(seconds, elapsed)
        timer.daemon = True
        timer.start()
        await future

    async def op_subscribe(self, request):
        number = len(self.subscriptions)
        received = lambda message: self.say({'subscription': number, 'message': to_json(message)})
        made = self.node.create_subscription(interface(request['type']), request['topic'], received, qos(request))
        self.subscriptions.append(made)
        return number

    async def op_advertise(self, request):
        publisher = self.node.create_publisher(interface(request['type']), request['topic'], qos(request))
        self.publishers.append((publisher, interface(request['type'])))
        return len(self.publishers) - 1

    async def op_matched(self, request):
        publisher, _ = self.publishers[request['publisher']]
        while publisher.get_subscription_count() < request['count']:
            await self.sleep(0.01)

    async def op_publish(self, request):
        publisher, message_type = self.publishers[request['publisher']]
        publisher.publish(from_json(message_type(), request['message']))

    async def op_repeat(self, request):
        publisher, message_type = self.publishers[request['publisher']]
        message = from_json(message_type(), request['message'])
        begin = time.monotonic()
        for index in range(request['count']):
            await self.sleep(begin + index / request['hz'] - time.monotonic())
            if request.get('counter'):
                setattr(message, request['counter'], request.get('from', 1) + index)
            publisher.publish(message)

    async def op_publish_random(self, request):
        publisher, message_type = self.publishers[request['publisher']]
        message = random_messages(message_type, request['seed'], 1)[0]
        publisher.publish(message)
        return to_json(message)

    async def op_serialize_random(self, request):
        messages = random_messages(interface(request['type']), request['seed'], request['count'])
        return [
            {'message': to_json(message), 'cdr': base64.b64encode(serialize_message(message)).decode()}
            for message in messages
        ]

    async def op_complete(self, request):
        return to_json(from_json(interface(request['type'])(), request['message']))

    async def op_deserialize(self, request):
        message_type = interface(request['type'])
        return [to_json(deserialize_message(base64.b64decode(cdr), message_type)) for cdr in request['cdrs']]

    async def op_close(self, request):
        self.node.destroy_publisher(self.publishers[request['publisher']][0])

    async def op_serve_set_bool(self, request):
        async def answer(asked, response):
            self.calls_asked[request['name']] = self.calls_asked.get(request['name'], 0) + 1
            await self.sleep(request['delay_s'])
            response.success = asked.data
            response.message = 'on' if asked.data else 'off'
            return response

        self.servers.append(self.node.create_service(interface('std_srvs/srv/SetBool'), request['name'], answer))

    async def op_serve_echo(self, request):
        answer = lambda asked, response: same_fields(asked, response)
        self.servers.append(self.node.create_service(interface(request['type']), request['name'], answer))

    async def op_serve_fibonacci(self, request):
        fibonacci = interface('test_msgs/action/Fibonacci')

        async def execute(goal):
            order = goal.request.order
            sequence = [0, 1][: max(order, -1) + 1]
            result = lambda: fibonacci.Result(sequence=sequence)
            for _ in range(order - 1):
                await self.sleep(request['step_s'])
                if goal.is_cancel_requested:
                    goal.canceled()
                    return result()
                sequence.append(sequence[-1] + sequence[-2])
                goal.publish_feedback(fibonacci.Feedback(sequence=sequence))
            if order < 0:
                goal.abort()
            else:
                goal.succeed()
            return result()

        async def accepts(goal):
            await self.sleep(request['accept_delay_s'])
            return goal.order <= 40

        self.serve_action(fibonacci, request['name'], execute, accepts)

    async def op_serve_echo_action(self, request):
        action = interface(request['type'])

        async def execute(goal):
            goal.publish_feedback(same_fields(goal.request, action.Feedback()))
            await self.sleep(0.05)
            goal.succeed()
            return same_fields(goal.request, action.Result())

        async def accepts(_):
            return True

        self.serve_action(action, request['name'], execute, accepts)

    async def op_calls_asked(self, request):
        return self.calls_asked.get(request['name'], 0)

    async def op_endpoints(self, request):
        name = request['name']
        return {
            'publishers': self.node.count_publishers(name),
            'subscribers': self.node.count_subscribers(name),
            'clients': self.node.count_clients(name),
        }

    async def op_goals_asked(self, request):
        return self.goals_asked.get(request['name'], 0)

    def serve_action(self, action, name, execute, accepts):
        async def answer(goal):
            self.goals_asked[name] = self.goals_asked.get(name, 0) + 1
            return GoalResponse.ACCEPT if await accepts(goal) else GoalResponse.REJECT

        self.servers.append(
            ActionServer(
                self.node,
                action,
                name,
                execute_callback=execute,
                goal_callback=answer,
                cancel_callback=lambda goal: CancelResponse.ACCEPT,
            )
        )

    async def op_log(self, request):
        write = {
            'debug': self.write_debug,
            'info': self.write_info,
            'warn': self.write_warn,
            'error': self.write_error,
            'fatal': self.write_fatal,
        }[request['level']]
        write(request['text'])
        code = write.__code__
        return {'file': code.co_filename, 'function': code.co_name, 'line': code.co_firstlineno + 1}

    # One method a level: rclpy ties a level to the line that logs.
    def write_debug(self, text):
        self.node.get_logger().debug(text)

    def write_info(self, text):
        self.node.get_logger().info(text)

    def write_warn(self, text):
        self.node.get_logger().warning(text)

    def write_error(self, text):
        self.node.get_logger().error(text)

    def write_fatal(self, text):
        self.node.get_logger().fatal(text)


def main():
    rclpy.init(args=[])
    peer = Peer(sys.argv[1])

    def read():
        for line in sys.stdin:
            peer.executor.create_task(peer.handle, json.loads(line))
        os._exit(0)  # whatever a server is still waiting for

    threading.Thread(target=read, daemon=True).start()
    peer.say({'ready': peer.node.get_fully_qualified_name()})
    peer.executor.spin()


if __name__ == '__main__':
    main()
