"""The robot of the soak: a rclpy node that publishes many topics, and counts each command that reaches it.

argv[1] is JSON, {"streams": [{topic, type, hz, message, reliability?, durability?, fill?}], "topics": [{name, type}],
"services": [{name, type}], "actions": [name]}; `fill` is {field: bytes}. Says {"received": {name: n}} each second and
when stdin closes, which ends it. Services answer with the request's fields; actions are test_msgs/action/Fibonacci.
"""

import collections
import json
import os
import sys
import threading

import rclpy
from rclpy.action import ActionServer

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../../packages/agent/src/ros/testing'))
from peer import Peer, from_json, interface, qos, same_fields  # noqa: E402

STEP_S = 0.02
# A goal's result is forgotten after so long: by default that is 15 minutes on Jazzy, 10 s on Kilted.
RESULT_TIMEOUT_S = 10


class Robot(Peer):
    def __init__(self, plan):
        super().__init__('soak_robot')
        self.received = collections.Counter()
        for stream in plan['streams']:
            self.publish_steadily(stream)
        for topic in plan['topics']:
            self.count_topic(topic)
        for service in plan['services']:
            self.count_service(service)
        for name in plan['actions']:
            self.count_action(name)
        self.node.create_timer(1.0, self.tell)

    def tell(self):
        self.node.get_logger().info('still here')
        self.say({'received': dict(self.received)})

    def publish_steadily(self, stream):
        message_type = interface(stream['type'])
        message = from_json(message_type(), stream.get('message', {}))
        for field, size in stream.get('fill', {}).items():
            setattr(message, field, bytes(size))
        publisher = self.node.create_publisher(message_type, stream['topic'], qos(stream))
        self.publishers.append(publisher)
        self.node.create_timer(1 / stream['hz'], lambda: publisher.publish(message))

    def count_topic(self, topic):
        def received(_):
            self.received[topic['name']] += 1

        profile = qos({'depth': 1000})
        self.subscriptions.append(
            self.node.create_subscription(interface(topic['type']), topic['name'], received, profile)
        )

    def count_service(self, service):
        def answer(request, response):
            self.received[service['name']] += 1
            return same_fields(request, response)

        self.servers.append(self.node.create_service(interface(service['type']), service['name'], answer))

    def count_action(self, name):
        fibonacci = interface('test_msgs/action/Fibonacci')

        async def execute(goal):
            self.received[name] += 1
            sequence = [0, 1]
            while len(sequence) <= goal.request.order:
                await self.sleep(STEP_S)
                sequence.append(sequence[-1] + sequence[-2])
                goal.publish_feedback(fibonacci.Feedback(sequence=sequence))
            goal.succeed()
            return fibonacci.Result(sequence=sequence)

        self.servers.append(
            ActionServer(self.node, fibonacci, name, execute_callback=execute, result_timeout=RESULT_TIMEOUT_S)
        )


def main():
    rclpy.init(args=[])
    robot = Robot(json.loads(sys.argv[1]))

    def wait_for_end():
        sys.stdin.read()
        robot.say({'received': dict(robot.received)})
        os._exit(0)

    threading.Thread(target=wait_for_end, daemon=True).start()
    robot.tell()
    robot.executor.spin()


if __name__ == '__main__':
    main()
