// One T for each thread that uses an object, kept from call to call, so that threads neither wait for one another nor
// allocate. When many threads have come and gone, a new one takes over what another is not using.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace coda {

/// A number that no other thread of the process has had.
uint64_t thread_number();

template <class T>
class KeptPerThread {
  /// Only ever added, at the head, so that threads can walk the list while one adds.
  struct Node {
    std::atomic<bool> in_use{true};
    std::atomic<uint64_t> thread{0};
    T value;
    Node* next = nullptr;
  };

 public:
  KeptPerThread() = default;
  ~KeptPerThread() {
    for (Node* node = head_.load(); node;) delete std::exchange(node, node->next);
  }
  KeptPerThread(const KeptPerThread&) = delete;
  KeptPerThread& operator=(const KeptPerThread&) = delete;

  /// The caller's alone while it lives.
  class Use {
   public:
    explicit Use(Node* node) : node_(node) {}
    ~Use() { node_->in_use.store(false, std::memory_order_release); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    T& operator*() const { return node_->value; }
    T* operator->() const { return &node_->value; }

   private:
    Node* node_;
  };

  Use use() {
    const uint64_t me = thread_number();
    int nodes = 0;
    for (Node* node = head_.load(std::memory_order_acquire); node; node = node->next, ++nodes) {
      if (node->thread.load(std::memory_order_relaxed) == me && take(*node)) return Use(node);
    }
    for (Node* node = nodes < kEnough ? nullptr : head_.load(std::memory_order_acquire); node; node = node->next) {
      if (!take(*node)) continue;
      node->thread.store(me, std::memory_order_relaxed);
      return Use(node);
    }
    Node* node = new Node;
    node->thread.store(me, std::memory_order_relaxed);
    node->next = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return Use(node);
  }

 private:
  static constexpr int kEnough = 64;
  static bool take(Node& node) { return !node.in_use.exchange(true, std::memory_order_acquire); }

  std::atomic<Node*> head_{nullptr};
};

}  // namespace coda
